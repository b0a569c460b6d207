#if Tools
import NIOConcurrencyHelpers

/// The presence of a connection's client. When the client leaves, the exchange that runs for it is canceled, unless it
/// has to continue.
///
/// The handler next to the socket notes that the client has left. A client that closes only its sending side counts as
/// having left, because over TCP the two look the same.
final class ClientPresence: Sendable {
    private struct State {
        var hasLeft = false
        var onLeave: (@Sendable () -> Void)?
    }

    private let state = NIOLockedValueBox(State())

    func noteLeft() {
        let onLeave = state.withLockedValue { state in
            state.hasLeft = true
            defer { state.onLeave = nil }
            return state.onLeave
        }
        onLeave?()
    }

    private func set(_ onLeave: (@Sendable () -> Void)?) {
        let hasLeft = state.withLockedValue { state in
            state.onLeave = state.hasLeft ? nil : onLeave
            return state.hasLeft
        }
        if hasLeft { onLeave?() }
    }

    /// Runs an exchange, and cancels it when the client leaves.
    ///
    /// - Parameter isNeeded: whether the exchange continues without the client.
    func whilePresent(
        unless isNeeded: @escaping @Sendable () async -> Bool, _ exchange: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task { try await exchange() }
        set {
            Task {
                guard await !isNeeded() else { return }
                task.cancel()
            }
        }
        defer { set(nil) }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
#endif
