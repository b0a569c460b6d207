import Foundation

/// The dependencies of connections that are being freed. They are let go of one after another, because a chain of them
/// can be longer than a stack is deep. Each thread has its own object, and lets go of nothing for another thread.
final class FreedOperations {
    var ties: [Dependency.Ties] = []

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The object of this thread, while it frees something.
    static var current: FreedOperations? {
        pthread_getspecific(key).map { Unmanaged<FreedOperations>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Lets go of them, and of what is added meanwhile.
    func free() {
        guard !ties.isEmpty else { return }
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        while let next = ties.popLast() { withExtendedLifetime(next) {} }
    }
}
