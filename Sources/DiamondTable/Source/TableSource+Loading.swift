public import DiamondModel

extension TableSource {
    /// The state of the table: the presentation of ``loading`` as in `LoadPresenter`, even if other parts have rows.
    ///
    /// If no loaded row passes the filters and there is a next page, the state is `Presentation.loading`.
    public var presentation: Presentation {
        guard let loading else { return numberOfRows > 0 ? .content : .empty }
        let presentation = Presentation(of: loading.loadState, hasContent: hasContent, describe: describeError)
        return presentation == .empty && loading.hasMore ? .loading : presentation
    }

    /// The state of the row for the next page. While there are rows, it also has the error of any failed load.
    public var more: NextPageState {
        guard let loading else { return .none }
        if loading.isLoadingMore { return .loading }
        if let error = loading.loadState.error { return hasContent ? .failed(describeError(error)) : .none }
        return loading.hasMore ? .ready : .none
    }

    private var hasContent: Bool { loading?.hasContent ?? false }

    /// Whether there is a next page, and nothing is being loaded.
    var canLoadMore: Bool { more == .ready && loading?.isLoading == false }

    /// Returns whether a row is near enough to the end to load the next page.
    func needsMore(showing path: RowPath?) -> Bool {
        canLoadMore && rowCount(after: path ?? RowPath(section: 0, row: -1)) < prefetchDistance
    }

    private func rowCount(after path: RowPath) -> Int {
        let own = numberOfRows(in: path.section) - path.row - 1
        return (path.section + 1..<max(numberOfSections, path.section + 1)).reduce(own) { $0 + numberOfRows(in: $1) }
    }

    /// Loads the next page if a visible row is near the end and nothing is being loaded.
    ///
    /// A display calls it when it shows a row. It also calls it with the last visible row when there is a next page,
    /// because a page may be shorter than the screen. After an error, only ``retry()`` loads again.
    ///
    /// - Parameter path: The row; `nil` if no row is visible.
    public nonisolated(nonsending) func loadMore(showing path: RowPath?) async {
        if needsMore(showing: path) { try? await loading?.load(more: true) }
    }

    /// Loads the next page in a new task if the last visible row is near the end.
    @MainActor
    func startLoadingMore(showing path: RowPath?) {
        if needsMore(showing: path) { Task { await loadMore(showing: path) } }
    }

    /// Loads new items, for example after a pull to refresh. Errors are shown, not thrown.
    public nonisolated(nonsending) func refresh() async {
        try? await loading?.load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Repeats the failed load.
    public nonisolated(nonsending) func retry() async { try? await loading?.retry() }
}
