import Foundation

/// A pump that moves the pieces of an asynchronous sequence into a pipe, no faster than they are consumed.
enum BodyPump {
    static func pipe(from pieces: some AsyncSequence<Data, any Error> & Sendable) -> BodyPipe {
        let pipe = BodyPipe()
        let hasRoom = Signal()
        let task = Task {
            do {
                for try await piece in pieces {
                    switch pipe.yield(piece) {
                    case .more: break
                    case .pause: await hasRoom.wait()
                    case .stop: return
                    }
                }
                pipe.finish(nil)
            } catch {
                let known = error as? TransportError
                pipe.finish(
                    known
                        ?? TransportError(
                            .other, "the body's source failed: see the cause", serverMayHaveActed: true,
                            cause: error))
            }
        }
        pipe.connect(
            onResume: { hasRoom.wake() },
            onStop: { [task] in
                task.cancel()
                hasRoom.wake()
            })
        return pipe
    }
}
