#if Tools
import Diamond
import Dispatch
import Foundation
import NIOConcurrencyHelpers

/// A file of log lines, which another program may rename while it is written.
final class LogFile: Sendable {
    private let path: String
    private let handle: NIOLockedValueBox<FileHandle>

    /// Opens a file, or creates it.
    init(_ path: String) throws {
        self.path = path
        handle = NIOLockedValueBox(try Self.opened(path))
    }

    /// Writes a line. A failure, such as a full disk, does not end the program.
    func write(line: String) {
        let data = Data((line.withoutControls + "\n").utf8)
        handle.withLockedValue { try? $0.write(contentsOf: data) }
    }

    /// Opens the file of the same name again, after the old one was renamed. After a failure the old one stays in use.
    func reopen() {
        do {
            let new = try Self.opened(path)
            handle.withLockedValue { $0 = new }
        } catch {
            Output.note("cachectl: the log \(path) cannot be opened again: \(Self.reason(of: error))")
        }
    }

    /// Opens the file again at each SIGHUP, as programs that rename logs expect it. Otherwise SIGHUP ends the program.
    func reopenAtHangup() -> any DispatchSourceSignal {
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP)
        source.setEventHandler { [self] in reopen() }
        source.activate()
        return source
    }

    static func reason(of error: any Error) -> String {
        (error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"
    }

    private static func opened(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
#endif
