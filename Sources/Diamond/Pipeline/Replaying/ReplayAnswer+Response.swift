import Foundation
import HTTPTypes

extension ReplayAnswer {
    /// Creates the answer of an attempt; `nil` if it got none.
    init?(_ result: Result<Response, ConnectionError>) {
        switch result {
        case .success(let response): self.init(response)
        case .failure(let error):
            if let response = error.response {
                self.init(response)
            } else if let head = error.head.value {
                self.init(status: head.status, headers: head.headers, body: nil)
            } else {
                return nil
            }
        }
    }

    private init(_ response: Response) {
        self.init(status: response.status, headers: response.headers, body: response.body)
    }

    private init(status: HTTPResponse.Status, headers: HTTPFields, body: Data?) {
        let path = headers[.location].map { String($0.prefix { $0 != "?" && $0 != "#" }) }
        self.init(status: status, location: path, body: body, receivedAt: Date(timeIntervalSince1970: 0))
    }
}
