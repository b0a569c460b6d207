#if Tools
import Dispatch
import Foundation

/// Does something else than to end at Ctrl-C, when the terminal is closed, or when the system asks for the end; once: the
/// second time ends the program, but for the terminal, whose end shell and kernel tell both.
struct Interruption {
    private let sources: [(number: Int32, before: Handler?, source: any DispatchSourceSignal)]

    /// - Parameter handle: called on a thread of the system's.
    init(_ handle: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number in
            let before = signal(number, SIG_IGN)
            // Who has started it with nohup wants it to outlive the terminal.
            guard number != SIGHUP || !Self.ignores(before) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                handle()
                if number != SIGHUP { signal(number, SIG_DFL) }
            }
            source.activate()
            return (number, before, source)
        }
    }

    /// From now on each of them ends the program, as without this.
    func end() {
        for (number, before, source) in sources {
            source.cancel()
            signal(number, before)
        }
    }

    private typealias Handler = @convention(c) (Int32) -> Void

    private static func ignores(_ handler: Handler?) -> Bool {
        unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN as Handler?, to: Int.self)
    }
}
#endif
