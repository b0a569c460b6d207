public import Dispatch
public import Foundation

/// An executor that calls callbacks, such as a queue.
///
/// Each callback is called once, and asynchronously: never within the call that causes it. If the executor has threads
/// of its own, it may run before that call returns.
public struct CallbackExecutor: Sendable {
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Creates an executor.
    ///
    /// - Parameter schedule: a closure that schedules a function to be called once, after the closure has returned. It
    ///   is called on any thread. Keep it short: the connection finishes only when it has returned.
    public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.schedule = schedule
    }

    /// An executor on the main queue.
    public static let main = CallbackExecutor { DispatchQueue.main.async(execute: $0) }

    /// An executor on the global queue. Several callbacks may run at the same time.
    static let global = CallbackExecutor { DispatchQueue.global().async(execute: $0) }

    /// The platform's default: ``main`` on Apple platforms, ``global`` elsewhere.
    static var platform: CallbackExecutor {
        #if canImport(Darwin)
        main
        #else
        global
        #endif
    }

    /// Returns an executor on a dispatch queue. A serial queue calls callbacks one after another, in the order in which
    /// they were dispatched.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor { queue.async(execute: $0) }
    }

    /// Returns an executor that adds each callback to an operation queue as an operation.
    public static func queue(_ queue: OperationQueue) -> CallbackExecutor {
        CallbackExecutor { queue.addOperation($0) }
    }

    func call(_ callback: @escaping @Sendable () -> Void) { schedule(callback) }
}

/// The main queue as the executor of callbacks that are isolated to the main actor, written `.main`:
/// `engine.send(request, on: .main) { self.result = $0 }`.
public struct MainCallbackExecutor: Sendable {
    /// The main queue.
    public static let main = MainCallbackExecutor()

    /// Returns a callback for ``CallbackExecutor/main``, which calls it on the main actor.
    func callback<Value: Sendable>(
        _ callback: @escaping @MainActor @Sendable (Value) -> Void
    ) -> @Sendable (Value) -> Void {
        { value in MainActor.assumeIsolated { callback(value) } }
    }
}
