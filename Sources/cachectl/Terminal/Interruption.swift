#if Tools
import Dispatch
import Foundation

/// Calls a handler at the first SIGINT, SIGTERM or SIGHUP instead of ending the program.
///
/// The second SIGINT, SIGTERM or SIGQUIT ends the program. A second SIGHUP does not, because shell and kernel both send
/// it when the terminal closes. Each SIGTSTP calls the handler, which stops the program.
struct Interruption {
    private let sources: [(number: Int32, before: Handler?, source: any DispatchSourceSignal)]

    /// - Parameters:
    ///   - signals: The signals to handle.
    ///   - handle: Runs on a dispatch queue.
    init(at signals: [Int32] = [SIGINT, SIGTERM, SIGHUP], _ handle: @escaping @Sendable () -> Void) {
        sources = signals.compactMap { number in
            let before = signal(number, SIG_IGN)
            // A program started with nohup outlives the terminal, and one without job control cannot be continued.
            guard !Self.repeated.contains(number) || !Self.ignores(before) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                handle()
                if !Self.repeated.contains(number) { signal(number, SIG_DFL) }
            }
            source.activate()
            return (number, before, source)
        }
    }

    /// Restores the previous handlers.
    func end() {
        for (number, before, source) in sources {
            source.cancel()
            signal(number, before)
        }
    }

    /// The signals that call the handler each time.
    private static let repeated: Set = [SIGHUP, SIGTSTP]

    private typealias Handler = @convention(c) (Int32) -> Void

    private static func ignores(_ handler: Handler?) -> Bool {
        unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN as Handler?, to: Int.self)
    }
}
#endif
