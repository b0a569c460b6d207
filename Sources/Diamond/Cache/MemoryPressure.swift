import Dispatch

/// Gives memory back when the system asks for it, where a system asks: on Apple platforms.
final class MemoryPressure: Sendable {
    #if canImport(Darwin)
    private let source: any DispatchSourceMemoryPressure

    /// A warning halves what the tier holds, a critical one empties it; its bound stays.
    init(_ memory: MemoryTier) {
        source = DispatchSource.makeMemoryPressureSource(
            eventMask: [.warning, .critical], queue: .global(qos: .utility))
        source.setEventHandler { [weak source] in
            memory.shrink(to: source?.data == .critical ? 0 : memory.cost / 2)
        }
        source.activate()
    }

    deinit { source.cancel() }
    #else
    init(_ memory: MemoryTier) {}
    #endif
}
