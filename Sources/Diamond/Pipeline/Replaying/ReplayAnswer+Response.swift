import Foundation
import HTTPTypes

extension ReplayAnswer {
    /// The answer that an attempt has brought; `nil` where none has come.
    init?(_ arrival: Result<Response, ConnectionError>) {
        switch arrival {
        case .success(let response): self.init(response)
        case .failure(let error):
            if let response = error.response {
                self.init(response)
            } else if let head = error.head.value {
                self.init(head.status, head.headers, body: nil)
            } else {
                return nil
            }
        }
    }

    private init(_ response: Response) { self.init(response.status, response.headers, body: response.body) }

    private init(_ status: HTTPResponse.Status, _ headers: HTTPFields, body: Data?) {
        let path = headers[.location].map { String($0.prefix { $0 != "?" && $0 != "#" }) }
        self.init(status: status, location: path, body: body, receivedAt: Date(timeIntervalSince1970: 0))
    }
}
