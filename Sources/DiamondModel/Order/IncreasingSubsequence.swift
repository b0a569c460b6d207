/// The heaviest increasing subsequence of weighted values.
enum IncreasingSubsequence {
    /// Returns the indexes of the elements of a heaviest increasing subsequence, in order.
    ///
    /// - Parameters:
    ///   - values: Distinct values.
    ///   - weights: A positive weight for each.
    static func heaviest(_ values: [Int], weights: [Int]) -> [Int] {
        let order = values.indices.sorted { values[$0] < values[$1] }
        var ranks = [Int](repeating: 0, count: values.count)
        for (rank, place) in order.enumerated() { ranks[place] = rank }
        var best = PrefixMaxima(count: values.count)
        var previous = [Int](repeating: -1, count: values.count)
        for place in values.indices {
            let before = best.maximum(below: ranks[place])
            previous[place] = before.place
            best.raise(to: before.weight + weights[place], by: place, at: ranks[place])
        }
        var chain: [Int] = []
        var place = best.maximum(below: values.count).place
        while place >= 0 {
            chain.append(place)
            place = previous[place]
        }
        return chain.reversed()
    }

    /// Prefix maxima of a list, each with its index.
    private struct PrefixMaxima {
        private var entries: [(weight: Int, place: Int)]

        init(count: Int) { entries = Array(repeating: (0, -1), count: count + 1) }

        func maximum(below rank: Int) -> (weight: Int, place: Int) {
            var result = (weight: 0, place: -1)
            var index = rank
            while index > 0 {
                if entries[index].weight > result.weight { result = entries[index] }
                index &= index - 1
            }
            return result
        }

        mutating func raise(to weight: Int, by place: Int, at rank: Int) {
            var index = rank + 1
            while index < entries.count {
                if entries[index].weight < weight { entries[index] = (weight, place) }
                index += index & -index
            }
        }
    }
}
