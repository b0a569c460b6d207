import Foundation

extension BodyPipe {
    /// Returns a pipe with the pieces of an asynchronous sequence, which are read no faster than they are consumed.
    static func reading(_ pieces: some AsyncSequence<Data, any Error> & Sendable) -> BodyPipe {
        let pipe = BodyPipe()
        let hasRoom = Signal()
        let task = Task {
            do {
                for try await piece in pieces {
                    guard await pipe.yield(piece, awaiting: hasRoom) else { return }
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

    /// Appends a piece, and waits until there is room for the next.
    ///
    /// - Returns: `false` if no more is wanted.
    private func yield(_ piece: Data, awaiting hasRoom: Signal) async -> Bool {
        switch yield(piece) {
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
