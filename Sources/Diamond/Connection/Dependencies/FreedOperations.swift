import Foundation

/// The dependencies of connections that are being freed. They are released one after another, because recursion along a
/// long chain would overflow the stack. Each thread has its own object.
final class FreedOperations {
    var references: [Dependency.References] = []

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The object of the current thread, while that is releasing dependencies.
    static var current: FreedOperations? {
        pthread_getspecific(key).map { Unmanaged<FreedOperations>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Releases the references, also those that are added during the call.
    func free() {
        guard !references.isEmpty else { return }
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        while let next = references.popLast() { withExtendedLifetime(next) {} }
    }
}
