#if Tools
import Diamond
import Foundation

/// A line of `queue export`, which `queue import` reads.
struct JobLine: Encodable {
    private enum CodingKeys: CodingKey { case version, request }

    var job: JobForm
    /// The job's request. Absent if it cannot be read.
    var request: Request?

    func encode(to encoder: any Encoder) throws {
        try job.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(1, forKey: .version)
        try container.encodeIfPresent(request, forKey: .request)
    }
}
#endif
