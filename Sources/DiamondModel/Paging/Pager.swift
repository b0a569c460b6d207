import Diamond
import Foundation
import Observation

/// The loading state of a collection: the source, and the position in it.
@Observable
final class Pager {
    private(set) var source: PageSource?
    private(set) var position = PagePosition.start
    /// The number of items of the whole list; `nil` if the server does not report it.
    private(set) var total: Int?
    /// The loaded positions. A server that refers to one of them again has no further page.
    @ObservationIgnored private var visited: Set<PagePosition> = []
    /// The items of the last page: their ids, or the items themselves if they have none.
    @ObservationIgnored private var lastItems: [AnyHashable] = []
    /// The number of times in a row that the last page was repeated.
    @ObservationIgnored private var repetitions = 0
    private static let maximumRepetitions = 2
    /// The number of objects that were destroyed since the position was set.
    @ObservationIgnored private var destroyed = 0
    @ObservationIgnored private var destroyedAtRequest = 0
    /// The number of times that the source was set.
    @ObservationIgnored private(set) var sourceChanges = 0
    /// The requests of the loaded pages, whose responses may be cached.
    @ObservationIgnored private(set) var requests: [Request] = []
    private static let maximumRequests = 1_000
    /// The models that were deleted here and may still be on the server.
    var deleted: [DeletedModel] = []
    /// Whether the collection follows, or has followed, an observed query.
    @ObservationIgnored
    var hasQuery = false
    @ObservationIgnored
    private(set) lazy var state = LoadState(
        hasSource: { [weak self] in self.map { $0.source != nil || $0.hasQuery } ?? false }, now: now)
    private let now: () -> Date

    init(now: @escaping () -> Date) { self.now = now }

    /// Sets the source. The first source continues at the position of an archive, if its paging scheme supports the
    /// position. Any other source begins at its start.
    func setSource(_ source: PageSource?) {
        let isOther = self.source != nil
        self.source = source
        sourceChanges += 1
        if isOther {
            state.reset()
            reset()
            requests = []
            total = nil
        } else if let source, !source.paging.supports(position) {
            reset()
        }
    }

    func reset() { begin(at: .start, total: total) }

    /// Sets the position after the first page.
    ///
    /// - Parameter destroyed: The number of its objects that were destroyed during the load.
    func begin(at position: PagePosition, total: Int?, destroyed: Int = 0) {
        visited = [.start]
        lastItems = []
        repetitions = 0
        self.destroyed = destroyed
        self.position = position
        self.total = total
    }

    /// Notes the items of a counted page.
    ///
    /// - Returns: whether the server ignores the position. It has repeated the page twice: once may be a coincidence,
    ///   after as many new items as a page has.
    func noteItems(_ items: [AnyHashable]) -> Bool {
        repetitions = items == lastItems ? repetitions + 1 : 0
        lastItems = items
        return repetitions >= Self.maximumRepetitions
    }

    /// Sets the position after a page.
    func moveOn(to next: PagePosition, from position: PagePosition, total: Int?) {
        // After a deletion, earlier positions may have new items.
        if destroyed > 0 { visited = [.start] }
        visited.insert(position)
        destroyed = 0
        self.position = visited.contains(next) ? .end : next
        if let total { self.total = total }
    }

    /// Returns the position to request. Rows move up when others before them are destroyed.
    func nextPosition(_ source: PageSource) -> PagePosition {
        destroyedAtRequest = destroyed
        return source.paging.position(position, withoutItems: destroyed)
    }

    /// Whether objects were destroyed since the page was requested. The page may then lack a row.
    var isShifted: Bool { destroyed > destroyedAtRequest }

    func noteDestroyed() { destroyed += 1 }

    func note(_ page: Page) {
        if let total = page.total { self.total = total }
        guard let request = page.sent?.request, requests.count < Self.maximumRequests, !requests.contains(request)
        else { return }
        requests.append(request)
    }

    /// Returns the id of the first item, if the paging scheme requests newer items by id; otherwise `nil`.
    func newerThan(_ core: CollectionCore) -> JSONValue? {
        guard let key = source?.paging.newerKey, let first = core.order.first(where: { !$0.model.isNew }) else {
            return nil
        }
        return key.value(in: first.model.json)
    }
}
