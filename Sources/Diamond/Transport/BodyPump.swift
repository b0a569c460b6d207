import Foundation

/// A pump that moves the pieces of an asynchronous sequence into a pipe, no faster than they are consumed.
enum BodyPump {
    static func pipe(from pieces: some AsyncSequence<Data, any Error> & Sendable) -> BodyPipe {
        let pipe = BodyPipe()
        let hasRoom = Signal()
        let task = Task {
            do {
                for try await piece in pieces {
                    guard await yield(piece, to: pipe, hasRoom: hasRoom) else { return }
                }
                pipe.finish(nil)
            } catch {
                pipe.finish(error as? TransportError ?? TransportError(sourceFailed: error))
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

    /// Moves a piece into a pipe, and waits until the pipe has room for the next.
    ///
    /// - Returns: `false` if no more is wanted.
    private static func yield(_ piece: Data, to pipe: BodyPipe, hasRoom: Signal) async -> Bool {
        switch pipe.yield(piece) {
        case .more: return true
        case .pause:
            await hasRoom.wait()
            return true
        case .stop: return false
        }
    }
}

extension TransportError {
    fileprivate init(sourceFailed cause: any Error) {
        self.init(.other, "the body's source failed: see the cause", serverMayHaveActed: true, cause: cause)
    }
}
