import Foundation

/// Measures Diamond and its peers: `Benchmarks [--json] [--all] [NAME…]`. Without names, omits long benchmarks. Exits
/// with 1 if a figure misses its target. `Benchmarks --store DIRECTORY` creates a store of a million entries instead.
@main
enum Benchmarks {
    static func main() async {
        do {
            let arguments = CommandLine.arguments.dropFirst()
            if arguments.first == "--store", let path = arguments.dropFirst().first {
                try BigStore.create(in: URL(fileURLWithPath: path), entries: 1_000_000)
                exit(0)
            }
            let names = arguments.filter { $0 != "--json" && $0 != "--all" }
            let chosen = try choose(names, withLong: arguments.contains("--all"))
            let figures = try await run(chosen, asJSON: arguments.contains("--json"))
            await BigStore.removeAll()
            exit(figures.allSatisfy { $0.isMet } ? 0 : 1)
        } catch {
            await BigStore.removeAll()
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            exit(2)
        }
    }

    private static func choose(_ names: [String], withLong: Bool) throws -> [Benchmark] {
        let known = Benchmark.all.map(\.name)
        if let unknown = names.first(where: { !known.contains($0) }) {
            throw Failure("there is no benchmark '\(unknown)': name some of \(known.joined(separator: ", "))")
        }
        return Benchmark.all.filter { names.isEmpty ? withLong || !$0.isLong : names.contains($0.name) }
    }

    private static func run(_ benchmarks: [Benchmark], asJSON: Bool) async throws -> [Figure] {
        var figures: [Figure] = []
        for benchmark in benchmarks {
            let figure = try await benchmark.run()
            figures.append(figure)
            if !asJSON { show(figure.lines) }
        }
        if asJSON { show(try json(figures)) }
        return figures
    }

    private static func json(_ figures: [Figure]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(figures), as: UTF8.self)
    }

    private static func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

/// The reason why nothing could be measured.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
