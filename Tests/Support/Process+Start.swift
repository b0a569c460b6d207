package import Foundation

extension Process {
    private static let lock = NSLock()

    /// Starts the process beside no other start: two at once have crashed in Foundation's `run()` on Linux.
    package func start() throws {
        Self.lock.lock()
        defer { Self.lock.unlock() }
        try run()
    }
}
