/// Prefix sums of a list of counts, in logarithmic time (Fenwick, 1994).
struct Fenwick {
    private var sums: [Int]

    init(_ counts: [Int]) {
        sums = [0] + counts
        for index in sums.indices.dropFirst() {
            let next = index + (index & -index)
            if next < sums.count { sums[next] += sums[index] }
        }
    }

    mutating func add(_ amount: Int, at index: Int) {
        var index = index + 1
        while index < sums.count {
            sums[index] += amount
            index += index & -index
        }
    }

    /// Returns the sum of the first counts.
    func sum(ofFirst count: Int) -> Int {
        var index = count
        var sum = 0
        while index > 0 {
            sum += sums[index]
            index &= index - 1
        }
        return sum
    }

    /// Returns the index of the count that contains a rank, and the rank within it.
    func position(of rank: Int) -> (index: Int, rank: Int) {
        var index = 0
        var rank = rank
        var step = 1
        while step * 2 < sums.count { step *= 2 }
        while step > 0 {
            if index + step < sums.count, sums[index + step] <= rank {
                index += step
                rank -= sums[index]
            }
            step /= 2
        }
        return (index, rank)
    }
}
