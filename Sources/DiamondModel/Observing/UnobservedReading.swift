import Foundation

/// The reading of values by the rules of a collection. Its order follows from the changes that models report, so such a
/// read creates no registrar: two allocations for each row, and a cache miss for each comparison.
///
/// The mark belongs to the thread, because rules read any models of their isolation domain, and never wait.
enum UnobservedReading {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()
    private static var mark: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

    /// Whether the current thread is running a rule.
    static var isActive: Bool { pthread_getspecific(key) != nil }

    /// Runs `body`, which only reads.
    static func run<Result>(_ body: () -> Result) -> Result {
        let outer = pthread_getspecific(key)
        pthread_setspecific(key, mark)
        defer { pthread_setspecific(key, outer) }
        return body()
    }
}
