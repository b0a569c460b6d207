import DiamondModel

/// Loads items into a collection when a test lets it.
final class SimulatedLoading: TableLoading {
    private(set) var isLoaded = false
    private(set) var isLoading = false
    private(set) var isLoadingMore = false
    private(set) var hasMore = false
    private(set) var error: (any Error)?
    private(set) var loads: [String] = []
    private let items: ModelCollection<Item>
    private var tell: () -> Void = {}
    /// Called while a load is under way.
    var during: () -> Void = {}
    /// The error of the loads from now on.
    var failure: (any Error)?
    /// The number of items of a page.
    var pageSize = 0
    var pages = 1

    init(_ items: ModelCollection<Item>) { self.items = items }

    func observe(_ receive: @escaping () -> Void) -> ObserverToken {
        tell = receive
        return ObserverToken { [weak self] in self?.tell = {} }
    }

    func refresh() async {
        loads.append("refresh")
        await load { isLoading = $0 }
    }

    func loadMore() async {
        loads.append("more")
        await load { isLoadingMore = $0 }
    }

    func retry() async {
        loads.append("retry")
        await load { isLoading = $0 }
    }

    private func load(_ mark: (Bool) -> Void) async {
        mark(true)
        tell()
        during()
        await Task.yield()
        error = failure
        if failure == nil {
            items.transaction {
                for _ in 0..<pageSize { _ = try? items.add(Item.make(items.count + 1)) }
            }
            isLoaded = true
            pages -= 1
            hasMore = pages > 0
        }
        mark(false)
        tell()
    }
}
