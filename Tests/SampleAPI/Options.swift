import Foundation

/// What the command line says. Nothing is read from the environment, so that two runs differ only by what is written.
struct Options: Sendable {
    /// 0 lets the system choose a free port.
    var port = 0
    /// The folder that holds `cities.json`.
    var data = Options.fixtures
    /// A child that watches its standard input never outlives the test or script that started it.
    var exitsWithStandardInput = false

    init(_ arguments: some Sequence<String>) throws(OptionsError) {
        var rest = arguments.makeIterator()
        while let flag = rest.next() {
            switch flag {
            case "--port": port = try Self.port(rest.next())
            case "--data": data = try Self.folder(rest.next())
            case "--exit-with-stdin": exitsWithStandardInput = true
            default: throw OptionsError(description: "unknown option \(flag)\n\(Self.usage)")
            }
        }
    }

    private static let usage = "usage: SampleAPI [--port N] [--data DIR] [--exit-with-stdin]"
    static let help = "\(usage)\nGET / lists the routes: curl http://127.0.0.1:PORT/"

    private static let fixtures = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Fixtures/GeoNames", directoryHint: .isDirectory)

    private static func port(_ text: String?) throws(OptionsError) -> Int {
        guard let text, let port = UInt16(text) else {
            throw OptionsError(description: "--port needs a number from 0 to 65535\n\(usage)")
        }
        return Int(port)
    }

    private static func folder(_ text: String?) throws(OptionsError) -> URL {
        guard let text else { throw OptionsError(description: "--data needs a folder\n\(usage)") }
        return URL(filePath: text, directoryHint: .isDirectory)
    }
}

struct OptionsError: Error, CustomStringConvertible {
    let description: String
}
