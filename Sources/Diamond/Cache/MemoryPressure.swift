import Dispatch

/// Gives memory back when the system asks for it, where a system asks: on Apple platforms.
final class MemoryPressure: Sendable {
    #if canImport(Darwin)
    // Never touched between init and deinit.
    nonisolated(unsafe) private let sources: [any DispatchSourceMemoryPressure]

    /// A warning halves what the tier holds, a critical one empties it; its bound stays.
    init(_ memory: MemoryTier) {
        sources = [
            Self.source(.warning) { memory.shrink(to: memory.cost / 2) },
            Self.source(.critical) { memory.removeAll() },
        ]
    }

    deinit { for source in sources { source.cancel() } }

    private static func source(
        _ event: DispatchSource.MemoryPressureEvent,
        _ body: @escaping @Sendable () -> Void
    ) -> any DispatchSourceMemoryPressure {
        let source = DispatchSource.makeMemoryPressureSource(eventMask: event, queue: .global())
        source.setEventHandler(handler: body)
        source.activate()
        return source
    }
    #else
    init(_ memory: MemoryTier) {}
    #endif
}
