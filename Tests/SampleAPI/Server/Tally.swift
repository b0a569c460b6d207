import Synchronization

/// Counts by name.
final class CountedKeys: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// The count with this one.
    func increment(_ name: String) -> Int {
        counts.withLock {
            $0[name, default: 0] += 1
            return $0[name, default: 0]
        }
    }
}
