/// URLs of which all that is stored is stale, and has yet to be marked so on disk: look-ups take it for stale
/// meanwhile.
struct PendingInvalidations {
    private struct Invalidation {
        let url: String
        /// Of the last change that was added before.
        let number: Int
    }

    /// In the order in which they came.
    private var waiting: [Invalidation] = []
    /// The numbers of those of a URL, from the first to the last.
    private var numbers: [String: ClosedRange<Int>] = [:]
    /// How many of the first could not be written: they are tried again with what comes next, not by themselves.
    private var tried = 0

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ url: String, behind number: Int) {
        waiting.append(Invalidation(url: url, number: number))
        note(url, number)
    }

    private mutating func note(_ url: String, _ number: Int) {
        numbers[url] = (numbers[url]?.lowerBound ?? number)...number
    }

    /// Whether one of a URL, or, where that is not known, any, came behind a change.
    func include(_ url: String?, behind number: Int) -> Bool { range(of: url).map { $0.upperBound >= number } ?? false }

    /// Whether one came before a change.
    func include(_ url: String?, before number: Int) -> Bool { range(of: url).map { $0.lowerBound < number } ?? false }

    private func range(of url: String?) -> ClosedRange<Int>? {
        guard let first = waiting.first, let last = waiting.last else { return nil }
        return url.map { numbers[$0] } ?? first.number...last.number
    }

    /// How many changes come before the first that has to wait for one.
    ///
    /// - Parameter written: how many changes are on disk, or have failed.
    func room(behind written: Int) -> Int {
        waiting.first { $0.number > written }.map { $0.number - written } ?? .max
    }

    /// Those that wait for no change, the ones that were tried before among them.
    func due(behind written: Int) -> [String] { waiting.prefix { $0.number <= written }.map(\.url) }

    /// Whether one that waits for no change was not tried yet.
    func haveNew(behind written: Int) -> Bool {
        waiting.dropFirst(tried).first.map { $0.number <= written } ?? false
    }

    /// The first are on disk.
    mutating func finish(_ count: Int) {
        waiting.removeFirst(count)
        tried = max(0, tried - count)
        countAnew()
    }

    /// The first could not be written.
    ///
    /// - Returns: how many those are, each URL once.
    mutating func fail(_ count: Int) -> Int {
        var urls: Set<String> = []
        let first = waiting.prefix(count).filter { urls.insert($0.url).inserted }
        waiting.replaceSubrange(..<count, with: first)
        tried = first.count
        countAnew()
        return tried
    }

    private mutating func countAnew() {
        numbers = [:]
        for one in waiting { note(one.url, one.number) }
    }
}
