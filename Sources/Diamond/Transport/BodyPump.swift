import DiamondSQLite
import Foundation

/// Moves the pieces of an asynchronous sequence into a pipe, no faster than they are consumed.
enum BodyPump {
    static func pipe(from pieces: some AsyncSequence<Data, any Error> & Sendable) -> BodyPipe {
        let pipe = BodyPipe()
        let room = Room()
        let task = Task {
            do {
                for try await piece in pieces {
                    switch pipe.yield(piece) {
                    case .more: break
                    case .pause: await room.wait()
                    case .stop: return
                    }
                }
                pipe.finish(nil)
            } catch {
                let known = error as? TransportError
                pipe.finish(
                    known
                        ?? TransportError(
                            .other, "the body's source failed: see the cause", requestMayHaveBeenSent: true,
                            cause: error))
            }
        }
        pipe.connect(
            onResume: { room.open() },
            onStop: { [task] in
                task.cancel()
                room.open()
            })
        return pipe
    }
}

/// Waits for room: an opening before the wait counts, and so does the cancellation of the waiting task.
final class Room: Sendable {
    private struct State {
        var isOpen = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    func open() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isOpen = true }
            return state.waiter
        }
        waiter?.resume()
    }

    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation(wait)
        } onCancel: {
            open()
        }
    }

    private func wait(_ waiter: CheckedContinuation<Void, Never>) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiter = waiter }
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { waiter.resume() }
    }
}
