public import Dispatch
public import Foundation

/// The place where callbacks are called, such as a queue.
///
/// Each callback is called once, and later: never on the thread that causes it before that call has returned. On an
/// executor with other threads it may run at the same time as the end of that call.
public struct CallbackExecutor: Sendable {
    private let hand: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// An executor of your own.
    ///
    /// - Parameter hand: has to see to it that what it is given is called, once, and after it has returned. Called on any
    ///   thread; be short: the connection is not finished before.
    public init(_ hand: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.hand = hand
    }

    /// The main thread, by the main queue.
    public static let main = CallbackExecutor { DispatchQueue.main.async(execute: $0) }

    /// The system's threads, by the global queue: several callbacks may run at the same time.
    public static let global = CallbackExecutor { DispatchQueue.global().async(execute: $0) }

    /// ``main`` on Apple platforms, else ``global``: on Linux many programs never serve their main queue, and would wait for
    /// their callbacks forever.
    public static var platform: CallbackExecutor {
        #if canImport(Darwin)
        main
        #else
        global
        #endif
    }

    /// A queue of Dispatch; on a serial one callbacks come one after another, in the order in which they are handed
    /// over.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor { queue.async(execute: $0) }
    }

    /// A queue of operations, each callback as one.
    public static func queue(_ queue: OperationQueue) -> CallbackExecutor {
        CallbackExecutor { queue.addOperation($0) }
    }

    func call(_ callback: @escaping @Sendable () -> Void) { hand(callback) }
}
