import DiamondSQLite
import Foundation

/// A lock between processes, held until it is dropped or its process ends.
final class FileLock: Sendable {
    /// The pause between two attempts: the system has no lock call with a timeout.
    private static let pause: Duration = .milliseconds(10)

    private let descriptor: Int32

    /// Takes the lock. It waits for other holders until the timeout, because a stopped process keeps its lock.
    ///
    /// - Parameters:
    ///   - isShared: whether other shared holders may have it at the same time.
    ///   - timeout: the longest wait, approximately; then it throws the error `busy`.
    ///   - sleep: waits for a duration.
    init(
        _ path: String,
        isShared: Bool = false,
        timeout: Duration,
        sleep: (Duration) -> Void = { usleep(useconds_t($0.milliseconds * 1000)) }
    ) throws(SQLiteError) {
        descriptor = try PrivateFile.open(path, access: O_CREAT | O_RDWR)
        var rest = timeout
        while try !Self.tryLock(descriptor, path: path, isShared: isShared) {
            guard rest > .zero else { throw SQLiteError(.busy, "is locked", path: path) }
            sleep(Self.pause)
            rest -= Self.pause
        }
    }

    /// - Returns: whether the lock was taken.
    private static func tryLock(_ descriptor: Int32, path: String, isShared: Bool) throws(SQLiteError) -> Bool {
        guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 else { return true }
        let reason = errno
        // After a signal, the caller tries again.
        guard reason != EWOULDBLOCK, reason != EINTR else { return false }
        throw SQLiteError(errno: reason, "cannot be locked", path: path)
    }

    deinit {
        // Closing alone would not release it: a forked child may have the descriptor open, too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
