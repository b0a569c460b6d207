public import Diamond

/// A collection is loaded from its ``source``; one without a source is static.
extension ModelCollection: Loadable {
    /// The source that the collection is loaded from; `nil`, the default, for none.
    ///
    /// A collection without a context gets one, with its models. In the place of another source, the new one is begun at its
    /// start; what is there stays until then.
    public var source: PageSource? {
        get { core.source }
        set {
            core.pager.setSource(newValue)
            guard newValue != nil, core.context == nil else { return }
            let context = ModelContext(engine: newValue?.engine)
            core.context = context
            for model in core.allModels where model.context == nil { try? context.register(model) }
        }
    }

    /// The state of loading.
    public var loadState: LoadState { core.pager.state }

    public var loadContext: ModelContext? { core.context }

    /// Whether there is a row on show.
    public var hasContent: Bool { !isEmpty }

    /// The position of the page that comes next. Part of the collection's Codable form.
    public var position: PagePosition { core.pager.position }

    /// The number of items of the whole list, where the server tells it; `nil` where it does not.
    public var total: Int? { core.pager.total }

    /// Whether there may be more to load.
    public var hasMore: Bool { source != nil && isLoaded && position != .end }

    /// Loads the next page, which is added at the end; without one there is nothing to do.
    ///
    /// Rows that are there already are merged, not doubled. A call while the list is loaded waits for that load. A failure
    /// leaves the position where it was.
    ///
    /// - Throws: As ``load(policy:more:)``.
    public nonisolated(nonsending) func next() async throws { try await load(more: true) }

    /// Loads the new items, and adds them at the top. The other rows and the position stay.
    ///
    /// If rows may be missing between the new items and the present ones, the list is loaded from the beginning. A list
    /// of one page is always loaded from the beginning.
    ///
    /// - Throws: As ``load(policy:more:)``.
    public nonisolated(nonsending) func refresh() async throws {
        try await load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Whether a row is so near to the end that it is time to load more: for ``next()``, when a row is about to be shown.
    ///
    /// `false` while something is loaded, and after a load that failed, which is to be repeated by the user.
    ///
    /// - Parameters:
    ///   - index: the index of the row.
    ///   - distance: the number of rows behind it from which it is time.
    public func needsMore(showing index: Int, distance: Int = 10) -> Bool {
        hasMore && !isLoading && loadState.error == nil && index >= count - distance
    }

    // MARK: The steps of a load

    public func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Page)? {
        guard let source, load.scope != .more || position != .end else { return nil }
        let query = PageQuery(
            position: load.scope == .more ? core.pager.nextPosition(source) : .start, policy: load.policy,
            newerThan: load.scope == .refresh ? core.pager.newerThan(core) : nil)
        return { try await source.page(query) }
    }

    public func apply(_ page: Page, of load: Load) throws { try core.apply(page, of: load) }

    public func age(of page: Page) -> Duration? { page.hasOnlyNewer ? nil : .seconds(page.age) }

    public func resetSource() { core.pager.reset() }

    public func observeContent(_ receive: @escaping () -> Void) -> ObserverToken? {
        core.didObservers.add { _ in receive() }
    }

    public func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)? {
        guard let engine = source?.engine else { return nil }
        let requests = core.pager.requests
        return { try await engine.invalidate(requests, isErasure: isErasure) }
    }
}

extension CollectionCore {
    var source: PageSource? { pagerIfAny?.source }

    /// Takes in a page.
    func apply(_ page: Page, of load: Load) throws {
        guard let source else { return }
        switch load.scope {
        case .beginning: try begin(with: page, of: source)
        case .refresh:
            guard isContiguous(page, of: source) else { return try begin(with: page, of: source) }
            upsertAtTop(page.items)
        case .more:
            let isShifted = pager.isShifted
            let position = pager.nextPosition(source)
            let next = try source.paging.position(after: page, at: position)
            let changes = pager.sourceChanges
            upsert(page.items)
            // Where rows have moved up meanwhile, the same page is asked for again.
            if !isShifted, pager.sourceChanges == changes { pager.moveOn(to: next, from: position, total: page.total) }
        }
        pager.note(page)
    }

    private func begin(with page: Page, of source: PageSource) throws {
        let next = try source.paging.position(after: page, at: .start)
        let destroyed = page.items.filter(isDestroyed).count
        let changes = pager.sourceChanges
        replaceAll(with: page.items)
        guard pager.sourceChanges == changes else { return }
        pager.begin(at: next, total: page.total, destroyed: destroyed)
        pager.note(page)
    }

    /// Whether an element of an answer was destroyed while it was on its way.
    private func isDestroyed(_ json: JSONValue) -> Bool {
        guard let context, let time = context.answerTime, let id = try? id(of: json) else { return false }
        return context.order.isDestroyed(ModelKey(type, id), since: time)
    }

    /// Whether no rows are missing between new ones and those that are there.
    private func isContiguous(_ page: Page, of source: PageSource) -> Bool {
        if source.paging == .whole || order.first == nil { return false }
        if page.hasOnlyNewer { return page.isLast != false }
        return page.items.contains { json in (try? id(of: json)).map { entries[$0] != nil } ?? false }
    }
}
