#if Tools
import Crypto
import Diamond
import Foundation

/// A short text for what a page has shown. A form sends it back, so that its action can refuse what was changed since.
enum Fingerprint {
    static func text(of text: String) -> String { Hex.text(of: SHA256.hash(data: Data(text.utf8))) }

    static func text(of jobs: [ReplayJob.ID]) -> String { text(of: jobs.map(String.init).joined(separator: ",")) }
}
#endif
