import Foundation
import HTTPTypes

extension ReplayAnswer {
    /// Creates the answer of an attempt; `nil` if it got none.
    ///
    /// - Parameter secrets: finds the header fields that must not be written to a file.
    init?(_ result: Result<Response, ConnectionError>, hiding secrets: FieldSecrets) {
        switch result {
        case .success(let response): self.init(response, hiding: secrets)
        case .failure(let error):
            if let response = error.response {
                self.init(response, hiding: secrets)
            } else if let head = error.head.value {
                self.init(status: head.status, headers: head.headers, body: nil, hiding: secrets)
            } else {
                return nil
            }
        }
    }

    private init(_ response: Response, hiding secrets: FieldSecrets) {
        self.init(status: response.status, headers: response.headers, body: response.printableBody, hiding: secrets)
    }

    private init(status: HTTPResponse.Status, headers: HTTPFields, body: Data?, hiding secrets: FieldSecrets) {
        let path = headers[.location].map { String($0.prefix { $0 != "?" && $0 != "#" }) }
        let others = headers.filter { $0.name != .location }
        self.init(
            status: status, location: path, headers: HeaderBlock.kept(others, secrets) ?? [:], body: body)
    }
}

extension Response {
    /// The body. A server may repeat secrets of the request in the description of a problem: there they are masked.
    fileprivate var printableBody: Data {
        guard let secrets = facts.secrets.value, let text = String(validating: body, as: UTF8.self) else { return body }
        return Data(secrets.masked(text).utf8)
    }
}
