/// URLs of which all that is stored is stale, and has yet to be marked so on disk: lookups take it for stale
/// meanwhile.
struct PendingInvalidations {
    private struct Invalidation {
        let url: String
        /// Of the last change that was added before.
        let number: Int
    }

    /// In the order in which they came; no URL twice behind the same change, but for those under way.
    // Slices, because what is taken off their front moves nothing.
    private var waiting: ArraySlice<Invalidation> = []
    /// The numbers of those of a URL, in the same order.
    private var numbers: [String: ArraySlice<Int>] = [:]
    /// How many of the first could not be written: they are tried again with what comes next, not by themselves.
    private var tried = 0
    /// Whether one of them came once more since.
    private var isRepeated = false
    /// What is being marked, or looked for: what came by now may have been passed over.
    private var underWay: Set<String> = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ url: String, behind number: Int) {
        let isKnown = numbers[url]?.last == number
        guard !isKnown || underWay.remove(url) != nil else { return isRepeated = true }
        waiting.append(Invalidation(url: url, number: number))
        numbers[url, default: []].append(number)
    }

    /// Whether one of a URL, or, where that is not known, any, came behind a change.
    func include(_ url: String?, behind number: Int) -> Bool { range(of: url).map { $0.upperBound >= number } ?? false }

    /// Whether one came before a change.
    func include(_ url: String?, before number: Int) -> Bool { range(of: url).map { $0.lowerBound < number } ?? false }

    private func range(of url: String?) -> ClosedRange<Int>? {
        guard let first = waiting.first, let last = waiting.last else { return nil }
        guard let url else { return first.number...last.number }
        guard let own = numbers[url], let first = own.first, let last = own.last else { return nil }
        return first...last
    }

    /// How many changes come before the first that has to wait for one.
    ///
    /// - Parameter written: how many changes are on disk, or have failed.
    func room(behind written: Int) -> Int {
        let next = firstWaiting(behind: written)
        return next == waiting.endIndex ? .max : waiting[next].number - written
    }

    /// The place of the first that has to wait for a change. Halves: there may be many.
    private func firstWaiting(behind written: Int) -> Int {
        var (low, high) = (waiting.startIndex, waiting.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle].number <= written { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Those that wait for no change, the ones that were tried before among them.
    func due(behind written: Int, atMost limit: Int) -> [String] {
        waiting[..<firstWaiting(behind: written)].prefix(limit).map(\.url)
    }

    /// Those that wait for no change, and were not tried yet.
    func untried(behind written: Int) -> [String] {
        waiting[..<firstWaiting(behind: written)].dropFirst(tried).map(\.url)
    }

    /// Whether one that waits for no change was not tried yet, or came once more.
    func haveNew(behind written: Int) -> Bool {
        isRepeated || (waiting.dropFirst(tried).first.map { $0.number <= written } ?? false)
    }

    /// Some of the first are taken up, until they are on disk or have failed.
    mutating func begin(_ urls: [String]) { underWay = Set(urls) }

    /// The first are on disk.
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

    /// The first that were not tried yet could not be written.
    ///
    /// - Parameter kept: URLs that are tried again, each once; the others are forgotten.
    /// - Returns: how many wait to be tried again.
    mutating func fail(_ count: Int, keeping kept: Set<String>) -> Int {
        (isRepeated, underWay) = (false, [])
        guard count > 0 else { return tried }
        let failed = waiting.dropFirst(tried).prefix(count)
        var known = Set(waiting.prefix(tried).map(\.url))
        let again = failed.filter { kept.contains($0.url) && known.insert($0.url).inserted }
        waiting.replaceSubrange(failed.indices, with: again)
        tried += again.count
        countAnew()
        return tried
    }

    private mutating func countAnew() {
        numbers = [:]
        for one in waiting { numbers[one.url, default: []].append(one.number) }
    }
}
