#if Tools
import Dispatch
import Foundation

/// Does something else than to end at Ctrl-C, or when the system asks for the end; once: the second time ends the program.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// - Parameter handle: called on a thread of the system's.
    init(_ handle: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                handle()
                signal(number, SIG_DFL)
            }
            source.activate()
            return source
        }
    }

    func end() { for source in sources { source.cancel() } }
}
#endif
