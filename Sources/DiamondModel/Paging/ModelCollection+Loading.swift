public import Diamond

/// A collection is loaded from its ``source``. Without a source it is static.
extension ModelCollection: Loadable {
    /// The source that the collection is loaded from; `nil` by default.
    ///
    /// A collection without a context gets one when its source is set, and its models are registered there. A source
    /// that replaces another is loaded from its start. The models stay until then.
    public var source: PageSource? {
        get { core.pager.source }
        set {
            core.pager.setSource(newValue)
            if let newValue { requireContext(with: newValue.engine) }
        }
    }

    /// Gives a collection without a context a new one, and registers its models there.
    func requireContext(with engine: Engine?) {
        guard core.context == nil else { return }
        let context = ModelContext(engine: engine)
        core.context = context
        for model in core.allModels where model.context == nil { try? context.register(model) }
    }

    /// The state of loading.
    public var loadState: LoadState { core.pager.state }

    public var loadContext: ModelContext? { core.context }

    /// Whether the collection has rows.
    public var hasContent: Bool { !isEmpty }

    /// The position of the next page. Part of the collection's `Codable` form.
    public var position: PagePosition { core.pager.position }

    /// The number of items of the whole list; `nil` if the server does not report it.
    public var total: Int? { core.pager.total }

    /// Whether there may be more to load.
    public var hasMore: Bool { source != nil && isLoaded && position != .end }

    /// Loads the next page, and adds it at the end. Does nothing after the last page.
    ///
    /// Items that the collection already has are merged. A call during a load only waits for that load. A failed load
    /// does not change the position.
    ///
    /// - Throws: The errors of ``load(policy:more:)``.
    public nonisolated(nonsending) func next() async throws { try await load(more: true) }

    /// Loads the new items, and adds them at the top. The other rows and the position stay.
    ///
    /// If rows may be missing between the new items and the existing ones, the list is loaded from the beginning. A
    /// list of one page is always loaded from the beginning.
    ///
    /// - Throws: The errors of ``load(policy:more:)``.
    public nonisolated(nonsending) func refresh() async throws {
        try await load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Returns whether a row is near enough to the end to call ``next()`` when it is shown.
    ///
    /// `false` during a load, and after a failed load, which the user has to repeat.
    ///
    /// - Parameters:
    ///   - index: The index of the row.
    ///   - distance: The number of rows before the end at which the next page is loaded.
    public func needsMore(showing index: Int, distance: Int = 10) -> Bool {
        hasMore && !isLoading && loadState.error == nil && index >= count - distance
    }

    // MARK: Loadable

    public func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Page)? {
        guard let source, load.scope != .more || position != .end else { return nil }
        let query = PageQuery(
            position: load.scope == .more ? core.pager.nextPosition(source) : .start, policy: load.policy,
            newerThan: load.scope == .refresh ? core.pager.newerThan(core) : nil,
            serverIDs: core.context?.serverIDs(in: source.request) ?? [:])
        _ = core.context?.overlay.name(of: Object.self)
        guard let identities = core.context?.identities, let engine = source.engine, let list = source.request else {
            return { try await source.page(query) }
        }
        return {
            await identities.note(list, of: Object.self, with: engine)
            return try await source.page(query)
        }
    }

    public func apply(_ page: Page, of load: Load) throws {
        defer { core.preparation = nil }
        try core.apply(page, of: load)
    }

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

    /// Applies a page.
    func apply(_ page: Page, of load: Load) throws {
        guard let source else { return }
        switch load.scope {
        case .beginning: try begin(with: page, of: source)
        case .refresh:
            let isAtTop = currentApplication.map { $0.place == .top } ?? isContiguous(page, of: source)
            if isAtTop { put(page, at: .top) } else { try begin(with: page, of: source) }
        case .more:
            let isShifted = pager.isShifted
            let position = pager.nextPosition(source)
            var next = try source.paging.position(after: page, at: position)
            let changes = pager.sourceChanges
            put(page, at: .end)
            // If an object was destroyed during the load, the page may lack a row: the same page is requested again.
            if !isShifted, pager.sourceChanges == changes {
                if isRepeated(page, of: source) { next = .end }
                pager.moveOn(to: next, from: position, total: page.total)
            }
        }
        pager.note(page)
        addWaitingModels(of: source)
    }

    /// Places the items of a page, or what is left of them after its first pieces.
    func put(_ page: Page, at place: PageApplication.Place) {
        if let application = currentApplication {
            self.application = nil
            // A reset since the first pieces changes the place.
            if application.place == place { return complete(application) }
        }
        switch place {
        case .all: replaceAll(with: page.content)
        case .end: upsert(page.content)
        case .top: upsert(page.content, atTop: true)
        }
    }

    /// Returns the place of a page's items.
    ///
    /// - Throws: The error that ``apply(_:of:)`` would throw.
    func place(of page: Page, for load: Load) throws -> PageApplication.Place {
        guard let source else { return .all }
        if load.scope == .more {
            _ = try source.paging.position(after: page, at: pager.position)
            return .end
        }
        if load.scope == .refresh, isContiguous(page, of: source) { return .top }
        _ = try source.paging.position(after: page, at: .start)
        return .all
    }

    /// Adds the new objects of the list whose calls wait in the queue. Those of a part of the list, such as the results
    /// of a search, are added if the collection has filters, which decide on them.
    private func addWaitingModels(of source: PageSource) {
        guard let context, let request = source.request.map(context.resolved) else { return }
        let list = type.resource ?? request
        let isWhole =
            type.resource == nil
            ? request.url.isExactly(list.listName) && request.parameters == Parameters()
            : request.url.isExactly(list.url) && request.parameters == list.parameters
        guard isWhole || !filters.isEmpty else { return }
        let models = context.newModels(of: type, in: list.listName).filter { entry(of: $0) == nil }
        if models.isEmpty { return }
        reading { for model in models { _ = try? add(model, at: .sorted, reason: .added) } }
    }

    private func begin(with page: Page, of source: PageSource) throws {
        let next = try source.paging.position(after: page, at: .start)
        let destroyed = context?.order.hasDestroyed == true ? page.content.filter(isDestroyed).count : 0
        let changes = pager.sourceChanges
        put(page, at: .all)
        guard pager.sourceChanges == changes else { return }
        pager.begin(at: next, total: page.total, destroyed: destroyed)
        _ = isRepeated(page, of: source)
        pager.note(page)
    }

    /// Returns whether a page shows that the server ignores the position of counted pages.
    private func isRepeated(_ page: Page, of source: PageSource) -> Bool {
        guard source.paging.isCounted else { return false }
        return pager.noteItems(
            page.content.map { json in (try? id(of: json)).map(AnyHashable.init) ?? AnyHashable(json.value) })
    }

    /// Returns whether an item of a response was destroyed during the load.
    private func isDestroyed(_ json: JSONItem) -> Bool {
        guard let context, let time = context.answerTime, let id = try? id(of: json) else { return false }
        return context.order.isDestroyed(ModelKey(type, id), since: time)
    }

    /// Returns whether no rows are missing between the new items and the existing ones.
    private func isContiguous(_ page: Page, of source: PageSource) -> Bool {
        if source.paging == .whole || order.first == nil { return false }
        if page.hasOnlyNewer { return page.isLast != false }
        return page.content.contains { json in (try? id(of: json)).map { entries[$0] != nil } ?? false }
    }
}
