import CSpawn
import DiamondSQLite
package import Foundation

/// A child process, started by `posix_spawn`.
///
/// Foundation's `Process` is not used: its `run()` on Linux reads beyond the last entry of `/proc/self/fd`, and crashes
/// where the tests have some 1,360 files open
/// (https://github.com/swiftlang/swift-corelibs-foundation/pull/5472, in no 6.3).
package final class ChildProcess: Sendable {
    package enum Ending: Hashable, Sendable {
        case exited(Int32)
        case killed(by: Int32)
    }

    package enum Stream: Sendable {
        /// A stream that reads nothing, and discards its input.
        case null
        case inherited
        case pipe(Pipe)
        /// A handle that is closed here when the child has it.
        case file(FileHandle)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// The process identifier.
    package var number: Int32 { identifier }
    private let identifier: pid_t
    private let status = Guarded<Int32>(0)
    private let hasEnded = Gate()

    /// Starts the child process. These three are its only open files. This process closes its copies of the child's
    /// ends of the pipes.
    ///
    /// - Parameter environment: all its variables; `nil` for those of the tests.
    package init(
        _ executable: URL,
        _ arguments: [String] = [],
        environment: [String: String]? = nil,
        input: Stream = .null,
        output: Stream = .inherited,
        errors: Stream = .inherited
    ) throws {
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        let identifier = try Self.spawn(
            executable.path,
            [executable.path] + arguments,
            variables,
            [input.child(0), output.child(1), errors.child(2)]
        )
        self.identifier = identifier
        input.closeChild(writes: false)
        output.closeChild(writes: true)
        errors.closeChild(writes: true)
        waitForEnd()
    }

    package func kill(_ signal: Int32 = SIGKILL) { _ = Foundation.kill(identifier, signal) }

    // Not on a global queue, whose few threads may all be busy.
    private static let killing = DispatchQueue(label: "ChildProcess.kill")

    package func kill(after delay: DispatchTimeInterval) {
        Self.killing.asyncAfter(deadline: .now() + delay) { self.kill() }
    }

    /// Whether the process is stopped, and was not continued.
    package var isStopped: Bool {
        var information = siginfo_t()
        let options = WSTOPPED | WNOHANG | WNOWAIT
        return waitid(P_PID, id_t(identifier), &information, options) == 0 && information.si_code == CLD_STOPPED
    }

    /// Returns when the process has ended, with the same result in every call.
    package func ended() async -> Ending {
        await hasEnded.wait()
        let status = status.withLock { $0 }
        let signal = status & 0x7F
        return signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: signal)
    }

    /// Returns the output of a process, which must exit successfully.
    package static func output(
        of executable: URL,
        _ arguments: [String],
        environment: [String: String]? = nil,
        errors: Stream = .inherited
    ) async throws -> Data {
        let output = Pipe()
        let process = try ChildProcess(
            executable, arguments, environment: environment, output: .pipe(output), errors: errors)
        let said = await output.readAll()
        let ending = await process.ended()
        guard ending == .exited(0) else { throw Failure(description: "\(executable.path): \(ending)") }
        return said
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        _ variables: [String],
        _ descriptors: [Int32]
    ) throws -> pid_t {
        let lists = [arguments, variables].map { strings in strings.map { strdup($0) } + [nil] }
        defer { for pointer in lists.joined() { free(pointer) } }
        var identifier: pid_t = 0
        let result = spawn_child(&identifier, path, lists[0], lists[1], descriptors)
        guard result == 0 else { throw Failure(description: "\(path): \(String(cString: strerror(result)))") }
        return identifier
    }

    // Waiting blocks, so it needs a thread outside the cooperative pool. It begins at once: Swift Testing's thread
    // for exit tests spins while an ended child is not waited for.
    private func waitForEnd() {
        let thread = Thread { [identifier, status, hasEnded] in
            var end: Int32 = 0
            while waitpid(identifier, &end, 0) < 0, errno == EINTR {}
            status.withLock { [end] in $0 = end }
            hasEnded.open()
        }
        thread.start()
    }
}

extension ChildProcess.Stream {
    fileprivate func child(_ number: Int32) -> Int32 {
        switch self {
        case .null: SPAWN_NULL
        case .inherited: number
        case .pipe(let pipe): pipe.handle(writes: number > 0).fileDescriptor
        case .file(let file): file.fileDescriptor
        }
    }

    fileprivate func closeChild(writes: Bool) {
        switch self {
        case .null, .inherited: break
        case .pipe(let pipe): try? pipe.handle(writes: writes).close()
        case .file(let file): try? file.close()
        }
    }
}

extension Pipe {
    fileprivate func handle(writes: Bool) -> FileHandle { writes ? fileHandleForWriting : fileHandleForReading }
}

extension Pipe {
    /// Reads until every writer has closed the pipe.
    package func readAll() async -> Data {
        await withCheckedContinuation { continuation in
            // Reading blocks: not on a thread of any pool.
            Thread.detachNewThread {
                continuation.resume(returning: self.fileHandleForReading.readDataToEndOfFile())
            }
        }
    }

    /// Reads up to the first end of a line, or of the stream.
    package func firstLine() async -> String {
        await withCheckedContinuation { continuation in
            // Reading blocks: not on a thread of any pool.
            Thread.detachNewThread {
                var line = Data()
                while let byte = try? self.fileHandleForReading.read(upToCount: 1), byte.first ?? 0x0A != 0x0A {
                    line += byte
                }
                continuation.resume(returning: String(decoding: line, as: UTF8.self))
            }
        }
    }
}
