import Foundation

/// Measures the storages on servers and their peers: `FleetBenchmarks NAME…`, below `scripts/fleet`. Prints lines as
/// `scripts/bench` does, and exits with 1 if a figure misses its target.
@main
enum FleetBenchmarks {
    static func main() async {
        do {
            let names = CommandLine.arguments.dropFirst()
            if let unknown = names.first(where: { name in !Row.all.contains { $0.name == name } }) {
                let known = Row.all.map(\.name).joined(separator: ", ")
                throw Failure("there is no benchmark '\(unknown)': name some of \(known)")
            }
            var isMet = true
            for row in Row.all where names.contains(row.name) { isMet = try await row.run() && isMet }
            exit(isMet ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            exit(2)
        }
    }
}

/// One figure that this program can measure.
struct Row: Sendable {
    enum Target: Sendable {
        case atMost(Double)
        case atLeast(Double)
    }

    let name: String
    /// The method of measurement, in one line.
    let method: String
    let unit: String
    let target: Target
    /// Returns the figure, with notes.
    let measure: @Sendable () async throws -> (value: Double, notes: [String])

    static let all =
        ValkeyHits.rows + [ValkeyPeer.row] + PostgresBatches.rows + PostgresPeer.rows + [PostgresBacklog.row]
        + PostgresSnapshot.rows + [PostgresRecovery.row]

    /// Measures and prints.
    ///
    /// - Returns: whether the figure meets its target.
    func run() async throws -> Bool {
        let (value, notes) = try await measure()
        let (text, isMet) =
            switch target {
            case .atMost(let limit): ("<=\(limit)", value <= limit)
            case .atLeast(let limit): (">=\(limit)", value >= limit)
            }
        for line in [method] + notes { print("# \(line)") }
        print([name, String(format: "%.2f", value), unit, text, isMet ? "ok" : "short"].joined(separator: "\t"))
        fflush(nil)
        return isMet
    }
}

/// The reason why nothing could be measured.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Returns a variable that `scripts/fleet` sets.
    static func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name] else {
            throw Failure("\(name) is not set: scripts/fleet scripts/bench NAME")
        }
        return value
    }
}

/// The seconds that some work takes.
func seconds(of work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    return (ContinuousClock.now - start) / .seconds(1)
}

/// Returns the medians of ratios and rates of several rounds. The first round does not count.
///
/// - Parameters:
///   - unit: the unit of the rates, for the note.
///   - round: returns our rate and the peer's.
func compare(
    rounds: Int = 7, unit: String, _ round: () async throws -> (ours: Double, peer: Double)
) async throws -> (value: Double, notes: [String]) {
    var (ratios, rates): ([Double], [Double]) = ([], [])
    for number in 0...rounds {
        let (ours, peer) = try await round()
        guard number > 0 else { continue }
        ratios.append(ours / peer)
        rates.append(ours)
    }
    let (ratio, rate) = (ratios.sorted()[rounds / 2], rates.sorted()[rounds / 2])
    return (ratio, [String(format: "%.0f %@, the peer %.0f", rate, unit, rate / ratio)])
}
