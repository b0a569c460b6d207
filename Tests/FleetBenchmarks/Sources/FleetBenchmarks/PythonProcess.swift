import Foundation

/// A script of `peers`, in the virtual environment that `peers/prepare` creates.
struct PythonProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ script: String, _ arguments: [String]) throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let peers = package.appending(path: "peers")
        let environment = package.appending(path: ".build/peers")
        let preparation = try Process.run(peers.appending(path: "prepare"), arguments: [environment.path])
        preparation.waitUntilExit()
        guard preparation.terminationStatus == 0 else {
            throw Failure("the peers in Python cannot be installed: see what pip says above")
        }
        process.executableURL = environment.appending(path: "bin/python")
        process.arguments = [peers.appending(path: "\(script).py").path] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try? output.fileHandleForWriting.close()
    }

    /// Returns the next line that the script writes.
    func line() throws -> String {
        var answer = Data()
        while answer.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1) {
            answer += byte
        }
        return String(decoding: answer.dropLast(), as: UTF8.self)
    }

    /// Tells the script to work. ``answer()`` waits for the end.
    func begin(_ work: String, _ count: Int) { input.fileHandleForWriting.write(Data("\(work) \(count)\n".utf8)) }

    /// The time of the work, as the script measured it.
    func answer() throws -> Double {
        let line = try line()
        guard let seconds = Double(line) else {
            throw Failure("the peer in Python answered '\(line)': see what it says above")
        }
        return seconds
    }

    func seconds(_ work: String, _ count: Int) throws -> Double {
        begin(work, count)
        return try answer()
    }

    /// The script ends when its input is closed.
    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
