public import Observation

/// A value bound one to one to a URL, such as the image of a model: loaded when it is asked for, and forgotten when the URL
/// changes.
///
/// A model has one for each property with a URL. A value is shown only if the URL is still the same, so that a cell
/// that was reused for another row never shows the image of the first.
///
/// ```swift
/// lazy var portrait = RemoteValue(images, default: placeholder) { [unowned self] in portraitURL }
/// ```
///
/// A remote value belongs to the isolation domain of its model.
@Observable
public final class RemoteValue<Value: Sendable> {
    /// The state of the value of the present URL.
    public enum State {
        /// There is no URL, or the value was not asked for.
        case none
        case loading
        case loaded(Value)
        case failed(any Error)
    }

    private enum Mark {
        case loading
        case loaded
        case failed(any Error)
    }

    @ObservationIgnored private let loader: ResourceLoader<Value>
    @ObservationIgnored private let currentURL: () -> String
    /// The value that is shown where there is none.
    @ObservationIgnored public let defaultValue: Value
    private var mark: (url: String, mark: Mark)?
    /// The loads that are under way.
    @ObservationIgnored private var tasks: [(url: String, task: Task<Value, any Error>)] = []

    /// Creates the value of a URL.
    ///
    /// - Parameters:
    ///   - loader: loads the value, and keeps it in memory as long as it has room.
    ///   - defaultValue: is shown where there is none.
    ///   - url: returns the present URL; empty text for none.
    public init(_ loader: ResourceLoader<Value>, default defaultValue: Value, url: @escaping () -> String) {
        self.loader = loader
        self.defaultValue = defaultValue
        currentURL = url
    }

    deinit { for load in tasks { load.task.cancel() } }

    /// The present URL.
    public var url: String { currentURL() }

    /// The state of the value of the present URL.
    public var state: State {
        let url = url
        let mark = mark?.url == url ? mark?.mark : nil
        if let value = url.isEmpty ? nil : loader.existing(url) { return .loaded(value) }
        switch mark {
        case .loading: return .loading
        case .failed(let error): return .failed(error)
        case .loaded, nil: return .none
        }
    }

    /// The value of the present URL as far as it is in memory, or else the default.
    public var value: Value { if case .loaded(let value) = state { value } else { defaultValue } }

    /// Loads the value of the present URL, unless it is in memory. A load of another URL is canceled.
    ///
    /// - Returns: the value. The default where there is no URL, and where the URL has changed when the value came: load
    ///   again then.
    /// - Throws: `ConnectionError`, what the loader's `decode` throws, `CancellationError`. ``state`` tells it, too.
    @discardableResult
    public nonisolated(nonsending) func load() async throws -> Value {
        let url = url
        for load in tasks where load.url != url { load.task.cancel() }
        guard !url.isEmpty else { return defaultValue }
        if let value = loader.existing(url) {
            // Another may have loaded it, which nothing here has told.
            mark = (url, .loaded)
            return value
        }
        let task = Task { @concurrent [loader] in try await loader.value(of: url) }
        tasks.append((url, task))
        mark = (url, .loading)
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        tasks.removeAll { $0.task == task }
        return try finish(result, of: url)
    }

    private func finish(_ result: Result<Value, any Error>, of url: String) throws -> Value {
        guard self.url == url else { return defaultValue }
        let isLoading = tasks.contains { $0.url == url }
        switch result {
        case .success: mark = (url, .loaded)
        case .failure(is CancellationError): mark = isLoading ? (url, .loading) : nil
        case .failure(let error): mark = (url, .failed(error))
        }
        return try result.get()
    }

    /// Ends what is being loaded, and forgets the value, here and in the loader's memory.
    public func clear() {
        for load in tasks { load.task.cancel() }
        mark = nil
        if !url.isEmpty { loader.forget(url) }
    }
}

@available(*, unavailable)
extension RemoteValue: Sendable {}
