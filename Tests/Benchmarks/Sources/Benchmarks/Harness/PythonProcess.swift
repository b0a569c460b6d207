import Foundation

/// A script of `peers`, in the virtual environment that `peers/prepare` creates.
struct PythonProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ script: String, _ arguments: [String]) throws {
        let peers = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../peers").standardizedFileURL
        let environment = peers.deletingLastPathComponent().appendingPathComponent(".build/peers")
        try Self.prepare(peers, environment)
        process.executableURL = environment.appendingPathComponent("bin/python")
        process.arguments = [peers.appendingPathComponent("\(script).py").path] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try? output.fileHandleForWriting.close()
    }

    private static func prepare(_ peers: URL, _ environment: URL) throws {
        let preparation = try Process.run(
            peers.appendingPathComponent("prepare"), arguments: [environment.path])
        preparation.waitUntilExit()
        guard preparation.terminationStatus == 0 else {
            throw Failure("the peers in Python cannot be installed: see what pip says above")
        }
    }

    /// The time of some work, as the script measured it.
    func seconds(_ work: String, _ count: Int) throws -> Double {
        input.fileHandleForWriting.write(Data("\(work) \(count)\n".utf8))
        var answer = Data()
        while answer.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1) {
            answer += byte
        }
        let line = String(decoding: answer.dropLast(), as: UTF8.self)
        guard let seconds = Double(line) else {
            throw Failure("the peer in Python answered '\(line)': see what it says above")
        }
        return seconds
    }

    /// The script ends when its input is closed.
    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
