extension RandomAccessCollection where Index == Int {
    /// Returns the index of the first element for which `precedes` is false, or the end, in logarithmic time. Elements
    /// for which it is true have to come first.
    @inline(__always)
    func partitionPoint(where precedes: (Element) -> Bool) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = (low + high) / 2
            if precedes(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
