public import Diamond
import Foundation

extension ModelCollection {
    /// Shows the newest list of an observed query, until the calling task is canceled or the engine is closed.
    ///
    /// ```swift
    /// .task { await cities.follow(engine.updates(Request("cities"), every: .seconds(60))) }
    /// ```
    ///
    /// Each new response is merged as a load is: models stay the same instances and keep unsaved changes. Models that
    /// are not in the list are removed. If the collection has a ``source`` with several pages, the response is its
    /// first page, and models of other pages stay. ``loadState`` has the state of the query. When the user signs out,
    /// the query drops its value, and the collection becomes empty. A response that cannot be read is the error of
    /// ``loadState``. A collection without a context gets one, and its models are registered there.
    ///
    /// - Parameters:
    ///   - query: The states of the query, of `updates(_:every:on:)` of an `Engine`.
    ///   - format: The places of the items and their total in a response.
    public nonisolated(nonsending) func follow<Value>(
        _ query: some AsyncSequence<QueryState<Value>, Never> & Sendable, format: PageFormat = PageFormat()
    ) async {
        core.pager.hasQuery = true
        // Without a context, a response would replace unsaved changes.
        requireContext(with: source?.engine)
        var follower = QueryFollower<Value>()
        defer {
            follower.end(in: context)
            loadState.endFollowing()
        }
        for await state in query {
            await noteIdentity()
            var page: Result<Page, any Error>?
            var time: SyncTime?
            if let response = state.response, follower.isNew(state) {
                page = await QueryFollower<Value>.page(of: response, format: format)
                time = follower.time ?? context?.order.next()
                if let page = try? page?.get(), let time {
                    await core.prepare(page, for: core.loadShowing, at: time, of: nil)
                }
                await context?.prepareLoad()
            }
            follower.show(state, page: page, at: time, in: self)
            core.preparation = nil
        }
    }

    private nonisolated(nonsending) func noteIdentity() async {
        guard let context, let engine = source?.engine ?? context.engine else { return }
        _ = context.overlay.name(of: Object.self)
        guard let list = Object.resource ?? source?.request else { return }
        await context.identities.note(list, of: Object.self, with: engine)
    }
}

/// The part of a query that a collection shows.
private struct QueryFollower<Value: Sendable> {
    private var response: Response?
    private var date: Date?
    /// The logical time of the running fetch. Its response must not replace what was saved since.
    private(set) var time: SyncTime?

    /// Returns whether a state has another response than the last one.
    func isNew(_ state: QueryState<Value>) -> Bool { state.response != response || state.date != date }

    /// Reads the items of a response, outside the collection's isolation domain.
    @concurrent
    static func page(of response: Response, format: PageFormat) async -> Result<Page, any Error> {
        Result { try format.page(of: response, isolatesFaults: true) }
    }

    /// Shows a state, with its page and the logical time of that, if it is new.
    mutating func show<Object: Model>(
        _ state: QueryState<Value>, page: Result<Page, any Error>?, at time: SyncTime?,
        in collection: ModelCollection<Object>
    ) {
        var failure: (any Error)? = state.error
        do {
            if let page = try page?.get() { try collection.show(page, at: time) }
        } catch { failure = error }
        if state.response == nil, response != nil { collection.core.replaceAll(with: []) }
        response = state.response
        date = state.date
        end(in: collection.context)
        if state.isFetching { self.time = collection.context?.order.begin() }
        collection.loadState.follow(
            isFetching: state.isFetching, date: page == nil || failure != nil ? nil : state.date, error: failure)
    }

    /// Ends the time of the running fetch.
    mutating func end(in context: ModelContext?) {
        if let time { context?.order.end(time) }
        time = nil
    }
}

extension ModelCollection {
    /// Shows the first page, as a load that began at a logical time does.
    fileprivate func show(_ page: Page, at time: SyncTime?) throws {
        guard let context, let time else { return try core.show(page) }
        try context.applyingAnswer(of: time) { try core.show(page) }
    }
}

extension CollectionCore {
    fileprivate func show(_ page: Page) throws {
        guard source != nil else {
            put(page, at: .all)
            return pager.begin(at: .end, total: page.total)
        }
        try apply(page, of: loadShowing)
    }

    /// The load that shows the first page as a query does.
    fileprivate var loadShowing: Load {
        let hasPages = source.map { $0.paging != .whole } ?? false
        return Load(scope: hasPages && pager.state.isLoaded ? .refresh : .beginning)
    }
}
