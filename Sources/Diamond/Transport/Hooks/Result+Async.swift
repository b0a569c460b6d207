extension Result {
    /// Creates a result from the value that an asynchronous body returns, or the error that it throws.
    init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
