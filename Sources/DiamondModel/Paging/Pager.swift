import Diamond
import Foundation

/// The loading state of a collection: the source, and the position in it.
final class Pager {
    private(set) var source: PageSource?
    private(set) var position = PagePosition.start
    /// The number of items of the whole list, where the server tells it.
    private(set) var total: Int?
    /// The positions that were loaded, which a server must not lead back to.
    private var visited: Set<PagePosition> = []
    /// The number of objects that were destroyed since the position was taken.
    private var destroyed = 0
    private var destroyedWhenAsked = 0
    /// The number of times that another source was taken.
    private(set) var sourceChanges = 0
    /// The requests that have brought pages, of which a cache may have the answers.
    private(set) var requests: [Request] = []
    private static let maximumRequests = 1_000
    /// The models that were deleted here and may still be on the server.
    var deleted: [DeletedModel] = []
    private(set) lazy var state = LoadState(hasSource: { [weak self] in self?.source != nil }, now: now)
    private let now: () -> Date

    init(now: @escaping () -> Date) { self.now = now }

    /// Takes another source, and begins it at its start. The first one goes on at the position of an archive, where that is
    /// one of its scheme.
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

    /// Takes the position behind the first page.
    ///
    /// - Parameter destroyed: the number of its objects that were destroyed while it was loaded.
    func begin(at position: PagePosition, total: Int?, destroyed: Int = 0) {
        visited = [.start]
        self.destroyed = destroyed
        self.position = position
        self.total = total
    }

    /// Takes the position behind a page.
    func moveOn(to next: PagePosition, from position: PagePosition, total: Int?) {
        // Pages behind destroyed objects are asked for again.
        if destroyed > 0 { visited = [.start] }
        visited.insert(position)
        destroyed = 0
        self.position = visited.contains(next) ? .end : next
        if let total { self.total = total }
    }

    /// The position to ask for: rows move up when others before them are destroyed.
    func nextPosition(_ source: PageSource) -> PagePosition {
        destroyedWhenAsked = destroyed
        return source.paging.position(position, withoutItems: destroyed)
    }

    /// Whether objects were destroyed since the page was asked for, so that it may leave a row out.
    var isShifted: Bool { destroyed > destroyedWhenAsked }

    func noteDestroyed() { destroyed += 1 }

    func note(_ page: Page) {
        if let total = page.total { self.total = total }
        guard let request = page.request?.request, requests.count < Self.maximumRequests, !requests.contains(request)
        else { return }
        requests.append(request)
    }

    /// The id of the first item that is there, where newer ones are asked for by it.
    func newerThan(_ core: CollectionCore) -> JSONValue? {
        guard let key = source?.paging.newerKey, let first = core.order.first(where: { !$0.model.isNew }) else {
            return nil
        }
        return key.value(in: first.model.json)
    }
}
