/// A sum over the last stretch of time, kept in ten slices. Older values are forgotten slice by slice.
struct SlidingSum: Hashable, Sendable {
    private static let sliceCount = 10

    /// Milliseconds.
    private let sliceLength: Int64
    private var slices = [Int](repeating: 0, count: sliceCount)
    /// Slices since the clock's beginning; the newest that was written.
    private var newest: Int64 = 0

    /// - Parameter length: the stretch; its tenth is the precision.
    init(milliseconds length: Int64) { sliceLength = max(1, length / Int64(Self.sliceCount)) }

    /// - Parameter now: milliseconds of a clock that only goes forward; an earlier time than before counts as then.
    mutating func add(_ value: Int, at now: Int64) {
        advance(to: now)
        slices[place(newest)] += value
    }

    mutating func sum(at now: Int64) -> Int {
        advance(to: now)
        return slices.reduce(0, +)
    }

    mutating func removeAll() { slices = slices.map { _ in 0 } }

    private mutating func advance(to now: Int64) {
        let slice = now / sliceLength
        guard slice > newest else { return }
        let passed = min(slice - newest, Int64(Self.sliceCount))
        for number in (slice - passed + 1)...slice { slices[place(number)] = 0 }
        newest = slice
    }

    private func place(_ slice: Int64) -> Int { Int(slice % Int64(Self.sliceCount)) }
}
