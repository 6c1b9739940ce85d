export const helpText = `Usage: npm run -s cairn -- store identify <exported.json | table:NAME[@WHERE]>... [--json]
       npm run -s cairn -- store status [--json] [--table NAME] [--endpoint URL | --region REGION]
       npm run -s cairn -- store export [FILE]   [--table NAME] [--endpoint URL | --region REGION]
       npm run -s cairn -- store shutdown        [--table NAME] [--endpoint URL | --region REGION]
                                                 [--without STORE]... [--json]
       npm run -s cairn -- store join REPLICA[@WHERE] [--timeout SECONDS] [--table NAME] [...]
       npm run -s cairn -- store leave STORE          [--table NAME] [--endpoint URL | --region REGION]
       npm run -s cairn -- store promote              [--table NAME] [--endpoint URL | --region REGION]

They read the table itself: the service may be down.

identify   Says which of several stores is the most up to date, and only reads. A store is a status
           document that was exported, or a table; WHERE is an endpoint's URL or an AWS region.
           Ends with 0 when there is a best store, or several are equal (any will do); with 2 when
           they cannot be compared; with 1 when one cannot be read.
status     What a store says of itself.
export     The same as a status document, to the file or to the output, for identify.
shutdown   Notes an orderly shutdown in the store and in all of its cluster that are in sync, after the
           service was stopped: they are clean, and equal, until something changes. Every one
           has to be reached, but those named with --without.
join       Brings a replica's table into the cluster of the table, whose feed must run: it gets all
           records, and commands wait for it. After SECONDS without it [10] it is given up.
leave      Takes a replica out of the cluster for good.
promote    Makes the replica in the table the primary of its cluster, when the old one is lost: every commit
           of which it has a part is finished, then it may be served. One whose joining was cut off is
           refused but with --incomplete.

Where the table is (--table, --endpoint and --region come first):

  CAIRN_TABLE            name of the table                              [cairn]
  DYNAMODB_ENDPOINT      the DynamoDB that it is in                     [none]
  CAIRN_DATA             without an endpoint: the folder of a local
                         service; its table engine is asked when it
                         runs, and else is started for the command      [.cairn/]
  AWS_REGION             where there is no such folder: DynamoDB of AWS

The usual AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE apply.

  npm run -s cairn -- store status                         the service of \`npm start\`, running or not
  npm run -s cairn -- store export before.json --table cairn-prod --region eu-west-1
  npm run -s cairn -- store identify before.json table:cairn-prod@eu-central-1
`;
