import Diamond

extension TableSource {
    /// The state of the table as a whole. Rows that are there stay on show while more are loaded, and after an error.
    public var presentation: Presentation {
        guard let loading else { return numberOfRows > 0 ? .content : .empty }
        return Presentation(of: loading.loadState, hasContent: numberOfRows > 0, describe: describeError)
    }

    /// The state of the row that stands for further pages.
    public var more: TableMore {
        guard let loading, numberOfRows > 0 else { return .none }
        if loading.isLoadingMore { return .loading }
        guard loading.hasMore else { return .none }
        return loading.loadState.error.map { .failed(describeError($0)) } ?? .ready
    }

    /// Returns whether the next page is to be loaded now that a row is shown: near the end, and once until the load has ended.
    ///
    /// The caller then awaits ``loadMore()``, in a task of its own. After an error only the user's retry loads again.
    public func claimsMore(showing path: RowPath) -> Bool {
        guard more == .ready, let loading, !loading.isLoading, !isClaimingMore, rowsBehind(path) < distanceToMore else {
            return false
        }
        isClaimingMore = true
        return true
    }

    private func rowsBehind(_ path: RowPath) -> Int {
        let own = numberOfRows(in: path.section) - path.row - 1
        return (path.section + 1..<max(numberOfSections, path.section + 1)).reduce(own) { $0 + numberOfRows(in: $1) }
    }

    /// Loads the next page.
    public nonisolated(nonsending) func loadMore() async {
        isClaimingMore = true
        try? await loading?.load(more: true)
        isClaimingMore = false
    }

    /// Loads what is new, as after a pull. Errors are shown, not thrown.
    public nonisolated(nonsending) func refresh() async {
        try? await loading?.load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Repeats the load that has failed.
    public nonisolated(nonsending) func retry() async { try? await loading?.retry() }
}
