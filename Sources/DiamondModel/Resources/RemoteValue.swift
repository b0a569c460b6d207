import Diamond
public import Observation

/// A value at a URL, such as the image of a model. It is loaded on request, and dropped when the URL changes.
///
/// A model has one for each property with a URL. A value is shown only if the URL is still the same: a cell that was
/// reused for another row never shows the image of the first.
///
/// ```swift
/// lazy var portrait = RemoteValue(images, default: placeholder) { [unowned self] in portraitURL }
/// ```
///
/// A remote value belongs to the isolation domain of its model.
@Observable
public final class RemoteValue<Value: Sendable> {
    /// The loading state of a remote value.
    public enum State {
        /// There is no URL, or the value was not requested.
        case none
        case loading
        case loaded(Value)
        case failed(any Error)
    }

    @ObservationIgnored private let loader: ResourceLoader<Value>
    @ObservationIgnored private let currentURL: () -> String
    /// The value to show until the URL's value is loaded.
    @ObservationIgnored let defaultValue: Value
    /// The state of the URL that was loaded last, while its value is not in memory.
    private var progress: (url: String, state: State)?
    /// The running loads.
    @ObservationIgnored private var tasks: [(url: String, task: Task<Value, any Error>)] = []

    /// Creates the value of a URL.
    ///
    /// - Parameters:
    ///   - loader: The loader, whose memory has the value after a load.
    ///   - defaultValue: The value to show until the URL's value is loaded.
    ///   - url: Returns the current URL; empty text for none.
    public init(_ loader: ResourceLoader<Value>, default defaultValue: Value, url: @escaping () -> String) {
        self.loader = loader
        self.defaultValue = defaultValue
        currentURL = url
    }

    deinit { for load in tasks { load.task.cancel() } }

    /// The current URL.
    public var url: String { currentURL() }

    /// The state of the current URL's value.
    public var state: State {
        let url = url
        let progress = (progress?.url).isExactly(url) ? progress?.state : nil
        if let value = url.isEmpty ? nil : loader.existing(url) { return .loaded(value) }
        return progress ?? State.none
    }

    /// The value of the current URL if it is in memory, otherwise the default.
    public var value: Value { if case .loaded(let value) = state { value } else { defaultValue } }

    /// Loads the value of the current URL, unless it is in memory. Cancels loads of other URLs.
    ///
    /// - Returns: The value; the default if there is no URL. Also the default if the URL has changed during the load:
    ///   then load again.
    /// - Throws: `ConnectionError`, the error of the loader's `decode`, `CancellationError`. It is also in ``state``.
    @discardableResult
    public nonisolated(nonsending) func load() async throws -> Value {
        let url = url
        for load in tasks where !load.url.isExactly(url) { load.task.cancel() }
        guard !url.isEmpty else { return defaultValue }
        if let value = loader.existing(url) {
            // If another caller of the loader has loaded it, observers of this value were not notified yet.
            progress = (url, .none)
            return value
        }
        let task = Task { @concurrent [loader] in try await loader.value(of: url) }
        tasks.append((url, task))
        progress = (url, .loading)
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        tasks.removeAll { $0.task == task }
        return try finish(result, of: url)
    }

    private func finish(_ result: Result<Value, any Error>, of url: String) throws -> Value {
        guard self.url.isExactly(url) else { return defaultValue }
        let isLoading = tasks.contains { $0.url.isExactly(url) }
        switch result {
        case .success: progress = (url, .none)
        case .failure(is CancellationError): progress = isLoading ? (url, .loading) : nil
        case .failure(let error): progress = (url, .failed(error))
        }
        return try result.get()
    }

    /// Cancels running loads, and removes the value from the loader's memory.
    public func clear() {
        for load in tasks { load.task.cancel() }
        progress = nil
        if !url.isEmpty { loader.removeValue(of: url) }
    }
}

@available(*, unavailable)
extension RemoteValue: Sendable {}
