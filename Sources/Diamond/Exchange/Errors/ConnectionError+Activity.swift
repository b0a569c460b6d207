extension ActivityOutcome {
    init(_ error: ConnectionError) { self.init(status: error.response?.status, error: error.code.description) }

    init(_ result: Result<Response, ConnectionError>) {
        switch result {
        case .success(let response): self.init(response)
        case .failure(let error): self.init(error)
        }
    }
}
