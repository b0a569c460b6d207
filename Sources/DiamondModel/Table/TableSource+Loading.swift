import Diamond

extension TableSource {
    /// The state of the table as a whole: that of ``loading``, as ``LoadPresenter`` tells it, also beside rows of other parts.
    ///
    /// While nothing of what was loaded is on show, as behind a filter, and there is more, the table counts as loading.
    public var presentation: Presentation {
        guard let loading else { return numberOfRows > 0 ? .content : .empty }
        let presentation = Presentation(of: loading.loadState, hasContent: hasContent, describe: describeError)
        return presentation == .empty && loading.hasMore ? .loading : presentation
    }

    /// The state of the row that stands for further pages. It also tells the error of any load that has left rows on show.
    public var more: TableMore {
        guard let loading else { return .none }
        if loading.isLoadingMore { return .loading }
        if let error = loading.loadState.error { return hasContent ? .failed(describeError(error)) : .none }
        return loading.hasMore ? .ready : .none
    }

    private var hasContent: Bool { loading.map { $0.isLoaded && $0.hasContent } ?? false }

    /// Whether nothing is loaded, and more could be.
    var awaitsMore: Bool { more == .ready && loading?.isLoading == false }

    /// Whether a row is so near to the end that the next page is to be loaded now.
    func needsMore(showing path: RowPath?) -> Bool {
        awaitsMore && rowsBehind(path ?? RowPath(section: 0, row: -1)) < distanceToMore
    }

    private func rowsBehind(_ path: RowPath) -> Int {
        let own = numberOfRows(in: path.section) - path.row - 1
        return (path.section + 1..<max(numberOfSections, path.section + 1)).reduce(own) { $0 + numberOfRows(in: $1) }
    }

    /// Loads the next page if a row on show is near the end, and nothing is being loaded.
    ///
    /// A display calls it when it shows a row, and with the last row on show whenever it is told that there is more: a page
    /// may fit on the screen. After an error only ``retry()`` loads again.
    ///
    /// - Parameter path: the row; `nil` where there is none on show.
    public nonisolated(nonsending) func loadMore(showing path: RowPath?) async {
        if needsMore(showing: path) { try? await loading?.load(more: true) }
    }

    /// Loads what is new, as after a pull. Errors are shown, not thrown.
    public nonisolated(nonsending) func refresh() async {
        try? await loading?.load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Repeats the load that has failed.
    public nonisolated(nonsending) func retry() async { try? await loading?.retry() }
}
