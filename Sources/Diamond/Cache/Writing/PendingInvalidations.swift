/// The URLs whose stored entries are stale and not marked so on disk yet. Lookups treat these entries as stale in the
/// meantime.
struct PendingInvalidations {
    private struct Invalidation {
        let url: String
        /// The number of the last change that was added before.
        let number: Int
    }

    /// The invalidations in the order in which they came. No URL is there twice after the same change, except for those
    /// in progress.
    // Slices, because removing elements from their front moves nothing.
    private var waiting: ArraySlice<Invalidation> = []
    /// The numbers of a URL's invalidations, in the same order.
    private var numbers: [String: ArraySlice<Int>] = [:]
    /// The number of invalidations at the front that could not be written. They are tried again together with the next
    /// ones, not by themselves.
    private var tried = 0
    /// Whether an invalidation that was tried was added again since.
    private var isRepeated = false
    /// The URLs whose entries are being looked for or marked. An entry stored in the meantime may be missed.
    private var underWay: Set<String> = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ url: String, behind number: Int) {
        let isKnown = numbers[url]?.last == number
        guard !isKnown || underWay.remove(url) != nil else { return isRepeated = true }
        waiting.append(Invalidation(url: url, number: number))
        numbers[url, default: []].append(number)
    }

    /// Whether an invalidation of a URL, or any if the URL is not known, came after a change.
    func include(_ url: String?, behind number: Int) -> Bool { range(of: url).map { $0.upperBound >= number } ?? false }

    /// Whether an invalidation of a URL, or any if the URL is not known, came before a change.
    func include(_ url: String?, before number: Int) -> Bool { range(of: url).map { $0.lowerBound < number } ?? false }

    private func range(of url: String?) -> ClosedRange<Int>? {
        guard let first = waiting.first, let last = waiting.last else { return nil }
        guard let url else { return first.number...last.number }
        guard let own = numbers[url], let first = own.first, let last = own.last else { return nil }
        return first...last
    }

    /// Returns the number of changes before the first invalidation that has to wait for a change.
    ///
    /// - Parameter written: the number of changes that are on disk, or have failed.
    func room(behind written: Int) -> Int {
        let next = firstWaiting(behind: written)
        return next == waiting.endIndex ? .max : waiting[next].number - written
    }

    /// Returns the index of the first invalidation that has to wait for a change. This is a binary search: there may be
    /// many.
    private func firstWaiting(behind written: Int) -> Int {
        var low = waiting.startIndex
        var high = waiting.endIndex
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle].number <= written { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the URLs whose invalidations wait for no change, including those tried before.
    func due(behind written: Int, atMost limit: Int) -> [String] {
        waiting[..<firstWaiting(behind: written)].prefix(limit).map(\.url)
    }

    /// Returns the URLs whose invalidations wait for no change and were not tried yet.
    func untried(behind written: Int) -> [String] {
        waiting[..<firstWaiting(behind: written)].dropFirst(tried).map(\.url)
    }

    /// Whether an invalidation that waits for no change was not tried yet, or was added again.
    func haveNew(behind written: Int) -> Bool {
        isRepeated || (waiting.dropFirst(tried).first.map { $0.number <= written } ?? false)
    }

    /// Begins some of the first invalidations. They are in progress until they are on disk or have failed.
    mutating func begin(_ urls: [String]) { underWay = Set(urls) }

    /// Removes the first invalidations, which are on disk.
    mutating func finish(_ count: Int) {
        underWay = []
        for url in waiting.prefix(count).map(\.url) {
            _ = numbers[url]?.popFirst()
            if numbers[url]?.isEmpty == true { numbers[url] = nil }
        }
        waiting.removeFirst(count)
        if waiting.isEmpty { waiting = [] }
        tried = max(0, tried - count)
        isRepeated = false
    }

    /// Notes that the first untried invalidations could not be written.
    ///
    /// - Parameter kept: the URLs that are tried again, each once; the others are forgotten.
    /// - Returns: the number of invalidations that wait to be tried again.
    mutating func fail(_ count: Int, keeping kept: Set<String>) -> Int {
        isRepeated = false
        underWay = []
        guard count > 0 else { return tried }
        let failed = waiting.dropFirst(tried).prefix(count)
        var known = Set(waiting.prefix(tried).map(\.url))
        let again = failed.filter { kept.contains($0.url) && known.insert($0.url).inserted }
        waiting.replaceSubrange(failed.indices, with: again)
        tried += again.count
        rebuildNumbers()
        return tried
    }

    private mutating func rebuildNumbers() {
        numbers = [:]
        for one in waiting { numbers[one.url, default: []].append(one.number) }
    }
}
