/// A sum over a sliding time window, stored in ten slices. Older values are dropped slice by slice.
struct SlidingSum: Hashable, Sendable {
    private static let sliceCount = 10

    /// The length of a slice in milliseconds.
    private let sliceLength: Int64
    private var slices = [Int](repeating: 0, count: sliceCount)
    /// The number of the newest slice, counted from the clock's start.
    private var newest: Int64 = 0

    /// Creates a sum.
    ///
    /// - Parameter length: the length of the window. The precision is a tenth of it.
    init(milliseconds length: Int64) { sliceLength = max(1, length / Int64(Self.sliceCount)) }

    /// Adds a value.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - now: the current time. An earlier time than the last counts as the last.
    mutating func add(_ value: Int, at now: EngineTime) {
        advance(to: now)
        slices[index(of: newest)] += value
    }

    mutating func sum(at now: EngineTime) -> Int {
        advance(to: now)
        return slices.reduce(0, +)
    }

    mutating func removeAll() { slices = slices.map { _ in 0 } }

    private mutating func advance(to now: EngineTime) {
        let slice = now.rawValue / sliceLength
        guard slice > newest else { return }
        let passed = min(slice - newest, Int64(Self.sliceCount))
        for number in (slice - passed + 1)...slice { slices[index(of: number)] = 0 }
        newest = slice
    }

    private func index(of slice: Int64) -> Int { Int(slice % Int64(Self.sliceCount)) }
}
