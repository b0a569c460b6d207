import Dispatch

/// Shrinks the memory tier when the system reports memory pressure, on Apple platforms.
final class MemoryPressure: Sendable {
    #if canImport(Darwin)
    // Not accessed between init and deinit.
    nonisolated(unsafe) private let sources: [any DispatchSourceMemoryPressure]

    /// Creates the event sources. A warning evicts half of the tier, a critical event clears it; its capacity stays.
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
